*** Settings ***
Documentation       A registry from outside: one person runs it, another publishes a skill, a third one gets it.
Library             Collections
Library             OperatingSystem
Library             Process
Library             String
Library             RegistryLibrary.py
Library             SkillbeltLibrary.py
Suite Setup         Start Registry
Suite Teardown      Stop Everything

*** Variables ***
${ROOT}             ${TEMPDIR}${/}skillbelt-robot-registry
${SKILLS}           ${ROOT}${/}skills
${KEY}              robot-publisher-key
${UMLAUT}           \u00fc

*** Test Cases ***
A Skill Is Published With A Key
    [Tags]    S2-28
    ${result}=    Run With Key    ${KEY}    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v1.0.0
    Should Have Exited With    ${result}    0
    Should Start With    ${result.stdout}    Published acme/mail-sorter@v1.0.0
    Should Match Regexp    ${result.stdout}    (?m)^id: +pkg_skl_[0-9a-f]{40}$
    Should Match Regexp    ${result.stdout}    (?m)^integrity: +sha256-

Publishing The Same Again Is No Error
    ${result}=    Run With Key    ${KEY}    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v1.0.0
    Should Have Exited With    ${result}    0

Anybody May Browse
    [Tags]    S2-26
    ${result}=    Run Skillbelt    registry    browse    ${URL}
    Should Have Exited With    ${result}    0
    Should Be Equal    ${result.stdout}    acme/mail-sorter${SPACE*2}v1.0.0${SPACE*2}Sorts mail f${UMLAUT}r you.
    ${result}=    Run Skillbelt    registry    browse    ${URL}    --json
    ${names}=    Json Values    ${result.stdout}    packages    name
    Should Be Equal    ${names}    ${{ ['mail-sorter'] }}

Anybody May Get A Package And Unpack It To What It Was
    [Tags]    S2-18    S2-24    S2-25
    ${file}=    Set Variable    ${ROOT}/got.json
    ${result}=    Run Skillbelt    registry    show    ${URL}    acme/mail-sorter@v1.x    --output    ${file}
    Should Have Exited With    ${result}    0
    Should Contain    ${result.stdout}    references/rules.md
    ${result}=    Run Skillbelt    unpack    ${file}    ${ROOT}/unpacked
    Should Have Exited With    ${result}    0
    Folders Should Be Equal    ${SKILLS}/mail-sorter    ${ROOT}/unpacked/mail-sorter

A Package Is Got By Its Id As Well
    [Tags]    S2-24
    ${packed}=    Run Skillbelt    pack    ${SKILLS}/mail-sorter    --json
    ${id}=    Json Value    ${packed.stdout}    id
    ${result}=    Run Skillbelt    registry    show    ${URL}    ${id}    --json
    Should Have Exited With    ${result}    0
    ${found}=    Json Value    ${result.stdout}    id
    Should Be Equal    ${found}    ${id}

An Unpacked Skill Works
    ${result}=    Run Skillbelt    show    ${ROOT}/unpacked    mail-sorter    --file    references/rules.md
    Should Have Exited With    ${result}    0
    Should Be Equal    ${result.stdout}    Receipts go to Money.

A Wrong Key Publishes Nothing
    [Tags]    S2-28    S2-29
    ${result}=    Run With Key    wrong-key    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v2.0.0
    Should Be One Sentence    ${result}    2    SKILLBELT_REGISTRY_KEY is not one it knows
    Should Not Contain    ${result.stderr}    wrong-key
    ${result}=    Run Skillbelt    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v2.0.0
    Should Be One Sentence    ${result}    2    set the environment variable SKILLBELT_REGISTRY_KEY
    ${result}=    Run Skillbelt    registry    show    ${URL}    acme/mail-sorter@v2
    Should Be One Sentence    ${result}    1    no version v2

A Version Never Changes
    [Tags]    S2-11    S2-29
    Create File    ${SKILLS}/mail-sorter/references/rules.md    Receipts go to Waste.\n
    ${result}=    Run With Key    ${KEY}    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v1.0.0
    Should Be One Sentence    ${result}    1    a version never changes
    ${result}=    Run With Key    ${KEY}    registry    publish    ${URL}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v1.1.0
    Should Have Exited With    ${result}    0
    ${result}=    Run Skillbelt    registry    show    ${URL}    acme/mail-sorter    --json
    ${version}=    Json Value    ${result.stdout}    version
    Should Be Equal    ${version}    v1.1.0

A Folder Of Skills Is Served As It Is
    ${folder}=    Folder Of Shipped Skills
    Serve    shipped    ${folder}    --namespace    examples
    ${url}=    Address In    ${ROOT}/shipped.txt
    ${result}=    Run Skillbelt    registry    browse    ${url}    --json
    ${names}=    Json Values    ${result.stdout}    packages    name
    Should Be Equal    ${names}    ${{ ['csv-quality-check', 'deploy-to-staging', 'incident-report'] }}
    Send Signal To Process    SIGINT    shipped
    ${result}=    Wait For Process    shipped    timeout=30s    on_timeout=kill
    Should Be Equal As Integers    ${result.rc}    0
    ${said}=    Get File    ${ROOT}/shipped.err
    Should End With    ${said.strip()}    Stopped.

A Registry That Is Not There Is One Sentence
    ${result}=    Run Skillbelt    registry    browse    http://127.0.0.1:9
    Should Be One Sentence    ${result}    2    cannot be fetched

What Was Published Is There After A Restart
    Terminate Process    registry
    Serve    again    ${ROOT}/packages
    ${url}=    Address In    ${ROOT}/again.txt
    ${result}=    Run Skillbelt    registry    show    ${url}    acme/mail-sorter    --json
    ${versions}=    Json Value    ${result.stdout}    versions
    Should Be Equal    ${versions}    ${{ ['v1.1.0', 'v1.0.0'] }}
    ${result}=    Run With Key    ${KEY}    registry    publish    ${url}    ${SKILLS}/mail-sorter
    ...    --namespace    acme    --version    v3.0.0
    Should Be One Sentence    ${result}    2    takes no publications

*** Keywords ***
Start Registry
    Remove Directory    ${ROOT}    recursive=True
    Create File    ${SKILLS}/mail-sorter/SKILL.md
    ...    ---\nname: mail-sorter\ndescription: Sorts mail f${UMLAUT}r you.\n---\nRead the rules.\n
    Create File    ${SKILLS}/mail-sorter/references/rules.md    Receipts go to Money.\n
    Create File    ${SKILLS}/mail-sorter/scripts/sort.sh    \#!/bin/sh\necho sorted\n
    Evaluate    __import__('os').chmod($SKILLS + '/mail-sorter/scripts/sort.sh', 0o755)
    Set Environment Variable    ROBOT_PUBLISH_KEY    ${KEY}
    Remove Environment Variable    SKILLBELT_REGISTRY_KEY
    Serve    registry    ${ROOT}/packages    --publish-key-env    ROBOT_PUBLISH_KEY
    ${url}=    Address In    ${ROOT}/registry.txt
    Set Suite Variable    ${URL}    ${url}

Stop Everything
    Terminate All Processes    kill=True
    Remove Environment Variable    ROBOT_PUBLISH_KEY
    Remove Directory    ${ROOT}    recursive=True

Serve
    [Documentation]    Starts a registry on a port that is free; what it says goes to files of the name.
    [Arguments]    ${name}    ${folder}    @{options}
    ${command}=    Installed Command
    Start Process    ${command}    registry    serve    ${folder}    --port    0    @{options}    alias=${name}
    ...    stdout=${ROOT}/${name}.txt    stderr=${ROOT}/${name}.err

Run Skillbelt
    [Documentation]    Runs the console script that was installed beside this interpreter.
    [Arguments]    @{arguments}
    ${command}=    Installed Command
    ${result}=    Run Process    ${command}    @{arguments}    timeout=120s    stdin=NONE
    RETURN    ${result}

Run With Key
    [Documentation]    Runs it with an API key where it belongs: in the environment.
    [Arguments]    ${key}    @{arguments}
    ${command}=    Installed Command
    ${result}=    Run Process    ${command}    @{arguments}    timeout=120s    stdin=NONE
    ...    env:SKILLBELT_REGISTRY_KEY=${key}
    RETURN    ${result}

Should Have Exited With
    [Arguments]    ${result}    ${code}
    Should Be Equal As Integers    ${result.rc}    ${code}    ${result.stderr}
    Should Not Contain    ${result.stdout}    \x1b

Should Be One Sentence
    [Arguments]    ${result}    ${code}    ${sentence}
    Should Have Exited With    ${result}    ${code}
    Should Start With    ${result.stderr}    error:${SPACE}
    Should Contain    ${result.stderr}    ${sentence}
    ${lines}=    Get Line Count    ${result.stderr}
    Should Be Equal As Integers    ${lines}    1
