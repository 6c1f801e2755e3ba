*** Settings ***
Documentation       Agents by configuration, from outside: `skillbelt registry serve` and `skillbelt run`, two processes.
...                 An agent that is configured by `skills:` resolves packages from the registry and answers with them.
Library             Collections
Library             OperatingSystem
Library             Process
Library             String
Library             SkillbeltLibrary.py
Suite Setup         Start A Registry And Write Agents
Suite Teardown      Stop The Registry

*** Variables ***
${WORK}             ${TEMPDIR}${/}skillbelt-robot-agents
${QUESTION}         How do I roll back a bad staging deployment?

*** Test Cases ***
The Agents Of A File Are Listed
    ${result}=    Run Skillbelt    run    agents.yaml    --list
    Should Have Exited With    ${result}    0
    Should Match Regexp    ${result.stdout}    (?m)^release\\s+offline\\s+3 skills\\s+Helps with releases\\.$

A File Is Checked With All It Names
    ${result}=    Run Skillbelt    run    agents.yaml    release    --check
    Should Have Exited With    ${result}    0
    Should Start With    ${result.stdout}    release: fine; deploy-to-staging v0.0.0 from registry:acme/deploy-to-staging

A LangChain Agent Resolves Its Skills From The Registry And Answers With One
    [Tags]    S2-38    S2-51
    Agent Answers With A Skill Of The Registry    langchain

A LlamaIndex Agent Resolves Its Skills From The Registry And Answers With One
    [Tags]    S2-38    S2-51
    Agent Answers With A Skill Of The Registry    llama-index

Both Frameworks Give The Same Answer From The Same Packages
    ${one}=    Run Skillbelt    run    agents.yaml    release    ${QUESTION}    --framework    langchain    --json
    ${other}=    Run Skillbelt    run    agents.yaml    release    ${QUESTION}    --framework    llama-index    --json
    FOR    ${key}    IN    skills    skills_loaded    files_read    answer    system_prompt
        ${expected}=    Json Value    ${one.stdout}    ${key}
        ${found}=    Json Value    ${other.stdout}    ${key}
        Should Be Equal    ${found}    ${expected}
        Should Not Be Empty    ${found}
    END
    ${references}=    Json Values    ${one.stdout}    skills    reference
    Should Be Equal    ${references}    ${{ ['registry:acme/deploy-to-staging', 'hub:acme/csv-quality-check', 'local:./mail-sorter'] }}

A Skill On Disk Is Used Beside Those Of The Registry
    ${result}=    Run Skillbelt    run    agents.yaml    release    Sort my mail by sender
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    1. load_skill(name='mail-sorter')

An Agent Without Skills Runs Too
    ${result}=    Run Skillbelt    run    agents.yaml    plain    Hello
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    Catalog${SPACE * 4}no skills

A Package The Registry Does Not Have Fails Before Anything Runs
    [Tags]    S2-39
    ${result}=    Run Skillbelt    run    agents.yaml    broken    ${QUESTION}
    Should Have Exited With    ${result}    1
    Should Be Empty    ${result.stdout}
    Should Match Regexp    ${result.stderr}    ^error: \\S*agents\\.yaml:\\d+:\\d+: agents\\.broken\\.skills\\[0\\]: .*acme/deploy-to-stagin

A Mistyped File Says Where And What
    Create File    ${WORK}/wrong.yaml    agents:\n\ \ clerk:\n\ \ \ \ skils: []\n
    ${result}=    Run Skillbelt    run    wrong.yaml    clerk    Hello
    Should Have Exited With    ${result}    2
    Should Be Equal    ${result.stderr}
    ...    error: wrong.yaml:3:5: agents.clerk.skils: There is no such field here. Did you mean 'skills'?

*** Keywords ***
Start A Registry And Write Agents
    Remove Directory    ${WORK}    recursive=True
    Create Directory    ${WORK}
    ${command}=    Installed Command
    ${folder}=    Folder Of Shipped Skills
    Start Process    ${command}    registry    serve    ${folder}    --namespace    acme    --port    0
    ...    alias=registry    stdout=${WORK}/registry.out    stderr=${WORK}/registry.err    stdin=NONE
    Wait Until Keyword Succeeds    60s    200ms    Registry Says Where It Is
    ${url}=    Registry Says Where It Is
    Create File    ${WORK}/mail-sorter/SKILL.md
    ...    ---\nname: mail-sorter\ndescription: Sorts mail by sender.\n---\nRead it from the top.\n
    ${text}=    Catenate    SEPARATOR=\n
    ...    registries:
    ...    ${SPACE * 2}hub: {url: '${url}', allow_private: true, default: true}
    ...    agents:
    ...    ${SPACE * 2}release:
    ...    ${SPACE * 4}type: llm
    ...    ${SPACE * 4}description: Helps with releases.
    ...    ${SPACE * 4}system_prompt: You help the release team.
    ...    ${SPACE * 4}skills: [registry:acme/deploy-to-staging, hub:acme/csv-quality-check, local:./mail-sorter]
    ...    ${SPACE * 2}plain: {}
    ...    ${SPACE * 2}broken: {skills: [registry:acme/deploy-to-stagin]}
    Create File    ${WORK}/agents.yaml    ${text}\n

Registry Says Where It Is
    ${said}=    Get File    ${WORK}/registry.out
    ${url}=    Get Regexp Matches    ${said}    http://127\\.0\\.0\\.1:\\d+
    Should Not Be Empty    ${url}
    RETURN    ${url}[0]

Stop The Registry
    Terminate Process    registry
    Remove Directory    ${WORK}    recursive=True

Run Skillbelt
    [Documentation]    Runs the console script that was installed beside this interpreter, with a cache of its own.
    [Arguments]    @{arguments}
    ${command}=    Installed Command
    ${result}=    Run Process    ${command}    @{arguments}    timeout=300s    stdin=NONE    cwd=${WORK}
    ...    env:XDG_CACHE_HOME=${WORK}/cache
    RETURN    ${result}

Should Have Exited With
    [Arguments]    ${result}    ${code}
    Should Be Equal As Integers    ${result.rc}    ${code}    ${result.stderr}
    Should Not Contain    ${result.stdout}    \x1b

Agent Answers With A Skill Of The Registry
    [Arguments]    ${framework}
    ${result}=    Run Skillbelt    run    agents.yaml    release    ${QUESTION}    --framework    ${framework}    --verbose
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    You help the release team.
    Should Contain    ${result.stdout}    <available_skills>
    Should Contain    ${result.stdout}    from registry:acme/deploy-to-staging
    Should Contain    ${result.stdout}    1. load_skill(name='deploy-to-staging')
    Should Match Regexp    ${result.stdout}    file \\S+ of deploy-to-staging read, \\d+ of \\d+ bytes
    Should Match Regexp    ${result.stdout}    (?s)\\nAnswer\\n.*Skill used: deploy-to-staging.*From \\S+:
