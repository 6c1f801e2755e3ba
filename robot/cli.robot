*** Settings ***
Documentation       The installed command, from outside: what a person or a CI job that types it gets.
Library             Collections
Library             OperatingSystem
Library             Process
Library             String
Library             SkillbeltLibrary.py
Suite Setup         Create Skills
Suite Teardown      Remove Directory    ${SKILLS}    recursive=True

*** Variables ***
${SKILLS}           ${TEMPDIR}${/}skillbelt-robot-skills
${QUESTION}         How do I deploy to staging?

*** Test Cases ***
The Shipped Skills Are Listed
    ${folder}=    Folder Of Shipped Skills
    ${result}=    Run Skillbelt    list    ${folder}
    Should Have Exited With    ${result}    0
    Should Match Regexp    ${result.stdout}    (?m)^deploy-to-staging\\s+Releases a service
    Should Be Equal    ${result.stderr}    3 skills.

A Listing For Machines Is JSON And Nothing Else
    ${result}=    Run Skillbelt    list    ${SKILLS}    --json
    Should Have Exited With    ${result}    0
    ${names}=    Json Values    ${result.stdout}    skills    name
    Should Be Equal    ${names}    ${{ ['mail-sorter'] }}
    ${codes}=    Json Values    ${result.stdout}    diagnostics    code
    Should Contain    ${codes}    description-missing
    Should Be Empty    ${result.stderr}

A Listing Says What It Left Out
    ${result}=    Run Skillbelt    list    ${SKILLS}
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stderr}    error[description-missing]

A Skill Is Shown With Its Files
    ${result}=    Run Skillbelt    show    ${SKILLS}    mail-sorter
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    references/rules.md
    Should Contain    ${result.stdout}    Read the rules.

A File Of A Skill Is Shown
    ${result}=    Run Skillbelt    show    ${SKILLS}/mail-sorter    --file    references/rules.md
    Should Have Exited With    ${result}    0
    Should Be Equal    ${result.stdout}    Receipts go to Money.

Valid Skills Pass And Broken Ones Fail
    ${result}=    Run Skillbelt    validate    ${SKILLS}/mail-sorter
    Should Have Exited With    ${result}    0
    Should Be Equal    ${result.stdout}    1 skill checked: 1 valid, 0 not; 0 errors, 0 warnings.
    ${result}=    Run Skillbelt    validate    ${SKILLS}
    Should Have Exited With    ${result}    1
    Should Contain    ${result.stdout}    2 skills checked: 1 valid, 1 not

Bad Input Is One Sentence On Standard Error
    [Template]    Bad Input Gives
    2    was not found    list    /no/such/folder
    2    is a file, not a folder    list    ${SKILLS}/mail-sorter/SKILL.md
    2    The name of a folder is empty    list    ${EMPTY}
    2    The name of a skill is empty    show    ${SKILLS}    ${EMPTY}
    1    Did you mean 'mail-sorter'?    show    ${SKILLS}    mail-sort
    2    Missing argument    validate
    2    No such command    frobnicate
    2    There is no framework    ask    x    --framework    crew
    2    The question is empty    ask    ${EMPTY}
    2    pip install langchain-mistralai    ask    x    --model    mistralai:x
    2    pip install llama-index-llms-mistralai    ask    x    --framework    llama-index    --model    mistralai:x

A Broken Skill Says What To Change
    ${result}=    Run Skillbelt    show    ${SKILLS}    broken
    Should Have Exited With    ${result}    1
    Should Contain    ${result.stderr}    broken/SKILL.md
    Should Contain    ${result.stderr}    error[description-missing]
    Should Not Contain    ${result.stderr}    Traceback

A LangChain Agent Answers From A Shipped Skill
    Agent Answers From A Skill    langchain

A LlamaIndex Agent Answers From A Shipped Skill
    Agent Answers From A Skill    llama-index

Both Frameworks Load The Same Skill And Read The Same Files
    ${one}=    Run Skillbelt    ask    ${QUESTION}    --framework    langchain    --json
    ${other}=    Run Skillbelt    ask    ${QUESTION}    --framework    llama-index    --json
    FOR    ${key}    IN    skills_loaded    files_read    answer    system_prompt
        ${expected}=    Json Value    ${one.stdout}    ${key}
        ${found}=    Json Value    ${other.stdout}    ${key}
        Should Be Equal    ${found}    ${expected}
        Should Not Be Empty    ${found}
    END

*** Keywords ***
Create Skills
    Create File    ${SKILLS}/mail-sorter/SKILL.md
    ...    ---\nname: mail-sorter\ndescription: Sorts mail by sender.\n---\nRead the rules.\n
    Create File    ${SKILLS}/mail-sorter/references/rules.md    Receipts go to Money.\n
    Create File    ${SKILLS}/broken/SKILL.md    ---\nname: broken\n---\nBody.\n

Run Skillbelt
    [Documentation]    Runs the console script that was installed beside this interpreter.
    [Arguments]    @{arguments}
    ${command}=    Installed Command
    ${result}=    Run Process    ${command}    @{arguments}    timeout=300s    stdin=NONE
    RETURN    ${result}

Should Have Exited With
    [Arguments]    ${result}    ${code}
    Should Be Equal As Integers    ${result.rc}    ${code}    ${result.stderr}
    Should Not Contain    ${result.stdout}    \x1b

Bad Input Gives
    [Arguments]    ${code}    ${sentence}    @{arguments}
    ${result}=    Run Skillbelt    @{arguments}
    Should Have Exited With    ${result}    ${code}
    Should Start With    ${result.stderr}    error:${SPACE}
    Should Contain    ${result.stderr}    ${sentence}
    ${lines}=    Get Line Count    ${result.stderr}
    Should Be Equal As Integers    ${lines}    1

Agent Answers From A Skill
    [Arguments]    ${framework}
    ${result}=    Run Skillbelt    ask    ${QUESTION}    --framework    ${framework}    --verbose
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    offline rule-based model, no LLM
    Should Contain    ${result.stdout}    <available_skills>
    Should Contain    ${result.stdout}    1. load_skill(name='deploy-to-staging')
    Should Match Regexp    ${result.stdout}    file \\S+ of deploy-to-staging read, \\d+ of \\d+ bytes
    Should Match Regexp    ${result.stdout}    (?s)\\nAnswer\\n.*Skill used: deploy-to-staging.*From \\S+:
